"""Citeomatic"""
