import { FitAddon } from './addon-fit.mjs'
import { begin, closed, opened } from './session.js'
import { Terminal } from './xterm.mjs'

const screen = document.getElementById('console')

begin((url, protocols) => {
  const terminal = new Terminal({ cursorBlink: true, scrollback: 10_000 })
  const fit = new FitAddon()
  terminal.loadAddon(fit)
  terminal.open(screen)
  new ResizeObserver(() => fit.fit()).observe(screen)
  terminal.focus()

  const socket = new WebSocket(url, protocols)
  socket.binaryType = 'arraybuffer'
  socket.addEventListener('open', opened)
  socket.addEventListener('close', closed)
  socket.addEventListener('message', ({ data }) => terminal.write(new Uint8Array(data)))

  const typed = new TextEncoder()
  terminal.onData((text) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(typed.encode(text))
  })
})
