import { CLOSED, protocolsFor, socketUrl, takeToken, tell } from './session.js'
import { Terminal } from './xterm.mjs'

const terminal = new Terminal({ cursorBlink: true, scrollback: 10_000 })
terminal.open(document.getElementById('console'))
terminal.focus()

const socket = new WebSocket(socketUrl(), protocolsFor(takeToken()))
socket.binaryType = 'arraybuffer'
socket.addEventListener('open', () => tell(''))
socket.addEventListener('close', () => tell(CLOSED))
socket.addEventListener('message', ({ data }) => terminal.write(new Uint8Array(data)))

const typed = new TextEncoder()
terminal.onData((text) => {
  if (socket.readyState === WebSocket.OPEN) socket.send(typed.encode(text))
})
