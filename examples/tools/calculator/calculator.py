import llmr.mcp

def calculate(operation, a, b):
    """Perform the specified operation on two numbers."""
    operations = {
        "add": lambda x, y: x + y,
        "subtract": lambda x, y: x - y,
        "multiply": lambda x, y: x * y,
        "divide": lambda x, y: x / y if y != 0 else None,
    }

    if operation not in operations:
        return None, f"Unknown operation: {operation}"

    if operation == "divide" and b == 0:
        return None, "Cannot divide by zero"

    return operations[operation](a, b), None

def main():
    # Get parameters
    operation = llmr.mcp.get("operation")
    a = llmr.mcp.get("a")
    b = llmr.mcp.get("b")

    # Validate required parameters
    if not operation:
        llmr.mcp.return_string("Error: operation is required")
        return
    if a is None or b is None:
        llmr.mcp.return_string("Error: both a and b parameters are required")
        return

    # Perform calculation
    result, error = calculate(operation, a, b)

    if error:
        llmr.mcp.return_string(f"Error: {error}")
    else:
        llmr.mcp.return_string(str(result))

main()
