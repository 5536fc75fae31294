"""Masked LM"""
