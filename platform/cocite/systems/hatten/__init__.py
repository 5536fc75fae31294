"""HAtten"""
