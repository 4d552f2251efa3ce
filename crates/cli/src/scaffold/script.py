import llmr.mcp


def main():
    name = llmr.mcp.get("name")
    times = llmr.mcp.get("times")
    greeting = "\n".join([f"Hello, {name}!"] * times)
    # The model reads the returned text, or the exception.
    llmr.mcp.return_string(greeting)


main()
