"""The tool of the benchmark `mcp`, served by the official Python SDK over stdio."""

from mcp.server import MCPServer

server = MCPServer("bench")


@server.tool()
def echo(text: str) -> str:
    """Answers with a text of 158 characters."""
    return "x" * 158


server.run("stdio")
