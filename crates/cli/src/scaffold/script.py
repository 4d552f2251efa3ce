import llmr.mcp


def main():
    name = llmr.mcp.get("name")
    times = llmr.mcp.get("times")
    greeting = "\n".join([f"Hello, {name}!"] * times)
    # What is returned is what the model reads. An exception is an error it reads as well.
    llmr.mcp.return_string(greeting)


main()
