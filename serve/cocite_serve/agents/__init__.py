"""The tools of `cocite mcp`, by which an agent asks for recommendations over the Model Context Protocol.

:mod:`.arguments` says what a tool takes, :mod:`.answers` what it gives, :mod:`.tools` computes that, :mod:`.texts`
writes it as text, and :mod:`.server` speaks the protocol.
"""
