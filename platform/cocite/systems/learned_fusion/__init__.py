"""Learned fusion"""
