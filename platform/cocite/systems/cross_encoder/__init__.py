"""The cross-encoder"""
