"""A very small FTP server for one session: passive and active transfers of one short file."""

from __future__ import annotations

import socket
import sys

CONTENT = b"a short file\n" * 20


def serve(address: str) -> None:
    """Answer one control connection on port 21."""
    with socket.create_server((address, 21)) as listener:
        control, _ = listener.accept()
    with control, control.makefile("rw", newline="\r\n") as lines:
        data: socket.socket | tuple[str, int] | None = None

        def say(text: str) -> None:
            lines.write(f"{text}\n")
            lines.flush()

        say("220 ready")
        for line in lines:
            command, _, argument = line.strip().partition(" ")
            if command == "PASV":
                passive = socket.create_server((address, 0))
                port = passive.getsockname()[1]
                say(f"227 Entering Passive Mode ({address.replace('.', ',')},{port >> 8},{port & 255})")
                data = passive
            elif command == "PORT":
                numbers = argument.split(",")
                data = (".".join(numbers[:4]), int(numbers[4]) << 8 | int(numbers[5]))
                say("200 ok")
            elif command == "RETR":
                say("150 sending")
                _send(data, address)
                say("226 sent")
            elif command == "QUIT":
                say("221 bye")
                return
            else:
                say({"USER": "331 password?", "PASS": "230 welcome", "TYPE": "200 ok", "PWD": '257 "/"', "SIZE": f"213 {len(CONTENT)}"}.get(
                    command, "502 no"))  # fmt: skip


def _send(data: socket.socket | tuple[str, int] | None, address: str) -> None:
    if isinstance(data, socket.socket):
        connection, _ = data.accept()
        data.close()
    elif data is not None:
        connection = socket.create_connection(data, source_address=(address, 20))
    else:
        return
    with connection:
        connection.sendall(CONTENT)


if __name__ == "__main__":
    serve(sys.argv[1])
