import { connect } from 'node:net'
import { Duplex } from 'node:stream'
import { Failure } from '#common/errors.ts'
import { abortable } from '../abortable.ts'

/**
 * The screen that QEMU serves on a socket. It ends with its guest, also where QEMU went with something unread, which
 * a socket tells as an error. Throws `unsupported` when nothing is served there.
 */
export async function openScreen(path: string, signal: AbortSignal): Promise<Duplex> {
  const socket = connect({ path })
  try {
    const connected = new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject)
    })
    await abortable(connected, signal)
  } catch (cause) {
    socket.destroy()
    signal.throwIfAborted()
    throw new Failure('unsupported', 'The instance has no screen that can be reached.', { cause })
  }
  const screen = new Duplex({
    read: () => void socket.resume(),
    write: (chunk, _encoding, done) => void socket.write(chunk, () => done()),
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', (chunk) => {
    if (!screen.push(chunk)) socket.pause()
  })
  socket.once('error', () => socket.destroy()).once('close', () => screen.push(null))
  return screen
}
