"""A mail server: `smtp_server.py tls|starttls|plain CERTIFICATE KEY`.

Prints its port, then each e-mail and password it takes, a line of JSON each.
"""

import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

PASSWORD = b"of the mail server"


class Taken:
    async def handle_DATA(self, server, session, envelope):
        taken = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "encrypted": server.transport.get_extra_info("ssl_object") is not None,
            "user": session.auth_data.login.decode(),
        }
        print(json.dumps(taken), flush=True)
        return "250 taken"


def authenticated(server, session, envelope, mechanism, data):
    if server.transport.get_extra_info("ssl_object") is None:
        print(json.dumps("a password without TLS"), flush=True)
    return AuthResult(success=data.password == PASSWORD, handled=False, auth_data=data)


async def serve(mode, certificate, key):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    upgrades = mode == "starttls"
    from_the_start = context if mode == "tls" else None

    def session():
        return SMTP(
            Taken(),
            hostname="mail.example",
            authenticator=authenticated,
            auth_required=True,
            auth_require_tls=upgrades,
            tls_context=context if upgrades else None,
            require_starttls=upgrades,
        )

    loop = asyncio.get_running_loop()
    server = await loop.create_server(session, "127.0.0.1", 0, ssl=from_the_start)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(serve(*sys.argv[1:]))
