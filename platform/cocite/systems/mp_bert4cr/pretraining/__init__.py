"""Hierarchical pretraining"""
