"""Sentence encoder"""
