import type { RawData, WebSocket } from 'ws'
import { isFailure } from '#common/errors.ts'
import type { ConsolePipe } from '../../app/consoles/console-pipe.ts'
import type { ConsoleMetrics } from '../../metrics/console-metrics.ts'

/** A browser that takes nothing, or does not answer a ping, for so long is gone. */
const STALL_MAX_MS = 30_000
const PING_MS = 15_000
const ENDED = 1000

/**
 * Carries bytes both ways until either side ends, and then closes both. The next chunk is requested from the host when
 * the browser has taken the last one, and the browser is read when the guest has: no bytes pile up in between.
 */
export async function carry(
  socket: WebSocket,
  pipe: ConsolePipe,
  metrics: ConsoleMetrics,
): Promise<void> {
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('error', () => socket.terminate())
  const watch = watchAlive(socket)
  try {
    carryTyped(socket, pipe, metrics)
    await Promise.race([carryShown(socket, pipe, metrics), closed])
  } finally {
    clearInterval(watch)
    if (socket.isPaused) socket.resume()
    socket.close(ENDED)
    const cutOff = setTimeout(() => socket.terminate(), STALL_MAX_MS).unref()
    void closed.then(() => clearTimeout(cutOff))
    await pipe.close()
  }
}

async function carryShown(
  socket: WebSocket,
  pipe: ConsolePipe,
  metrics: ConsoleMetrics,
): Promise<void> {
  while (socket.readyState === socket.OPEN) {
    const bytes = await pipe.read()
    if (bytes === undefined) return
    if (bytes.length === 0) continue
    metrics.carried('shown', bytes.length)
    if (!(await isTaken(socket, bytes))) return
  }
}

/** Resolves when the bytes are with the operating system; false when the browser does not take them. */
function isTaken(socket: WebSocket, bytes: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const stalled = setTimeout(() => {
      socket.terminate()
      resolve(false)
    }, STALL_MAX_MS)
    socket.send(bytes, { binary: true }, (error) => {
      clearTimeout(stalled)
      resolve(error === undefined || error === null)
    })
  })
}

function carryTyped(socket: WebSocket, pipe: ConsolePipe, metrics: ConsoleMetrics): void {
  let before = Promise.resolve()
  let waiting = 0
  const type = async (bytes: Buffer) => {
    try {
      await pipe.write(bytes)
      metrics.carried('typed', bytes.length)
    } catch (error) {
      if (!isFailure(error)) throw error
      socket.close(ENDED)
    } finally {
      waiting -= 1
      if (waiting === 0 && socket.readyState === socket.OPEN) socket.resume()
    }
  }
  socket.on('message', (data: RawData) => {
    waiting += 1
    socket.pause()
    const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer)
    before = before.then(() => type(bytes))
  })
}

/** Ends the connection of a browser that vanished without a word. */
function watchAlive(socket: WebSocket): NodeJS.Timeout {
  let activeAt = performance.now()
  const onActivity = () => {
    activeAt = performance.now()
  }
  socket.on('pong', onActivity)
  socket.on('message', onActivity)
  return setInterval(() => {
    // While the guest is busy with what was typed nothing is read, answers to pings included.
    if (socket.isPaused) onActivity()
    if (performance.now() - activeAt > STALL_MAX_MS + PING_MS) socket.terminate()
    else if (socket.readyState === socket.OPEN) socket.ping()
  }, PING_MS)
}
