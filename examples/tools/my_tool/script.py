import llmr.mcp

def main():
    # Get parameters
    name = llmr.mcp.get("name")
    count = llmr.mcp.get("count", 1)  # Default value of 1
    uppercase = llmr.mcp.get("uppercase", False)

    # Validate required parameter
    if not name:
        llmr.mcp.return_string("Error: name parameter is required")
        return

    # Build result
    greeting = f"Hello, {name}!"
    if uppercase:
        greeting = greeting.upper()

    result = "\n".join([greeting] * int(count))

    # Return result
    llmr.mcp.return_string(result)

main()
