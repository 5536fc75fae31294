"""Tests of one endpoint, which ends with the last of them: pytest knows a package by this file."""
