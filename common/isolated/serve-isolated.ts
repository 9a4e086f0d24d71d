import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { endOnEscape, withinTask } from '../escaped.ts'
import { errorFields, type Logger } from '../log.ts'
import type { Json } from '../saga/saga.ts'
import type { IsolatedMessage, TaskMessage } from './isolated-process.ts'

const BEAT_MS = 1_000
const GUARD = new URL('guard.ts', import.meta.url)

/** Runs the tasks of an isolated process: each result goes to the process that gave the task. */
export type IsolatedWork = (task: Json, signal: AbortSignal) => Promise<Json>

/**
 * Makes this process an isolated one (see `IsolatedRunner`), until its parent needs it no more or is gone. `open`
 * resolves to the work once everything the work needs is available; the work is disposed of at the end.
 */
export async function serveIsolated(
  log: Logger,
  open: () => Promise<{ readonly work: IsolatedWork } & AsyncDisposable>,
): Promise<void> {
  // A service manager stops all processes of a program; this one stops with its parent.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => undefined)
  const disconnected = once(process, 'disconnect')
  const memoryMaxMb = Number(process.argv[2])
  const guard = new Worker(GUARD, { workerData: { parent: process.ppid, memoryMaxMb } })
  await once(guard, 'online')
  endOnEscape(log)
  {
    await using opened = await open()
    const stop = new AbortController()
    const running = new Set<Promise<void>>()
    process.on('message', ({ nth, task }: TaskMessage) => {
      const done = run(nth, log, () => opened.work(task, stop.signal))
      running.add(done)
      void done.finally(() => running.delete(done))
    })
    const beat = setInterval(() => void send({ kind: 'beat' }), BEAT_MS)
    await send({ kind: 'ready' })
    await disconnected
    clearInterval(beat)
    stop.abort()
    await Promise.all(running)
  }
  process.exit()
}

async function run(nth: number, log: Logger, work: () => Promise<Json>): Promise<void> {
  const setAside = (why: string) => send({ kind: 'guilty', nth, why })
  try {
    const answer = await withinTask({ setAside }, work)
    await send({ kind: 'ended', nth, answer })
  } catch (error) {
    log.warn(errorFields(error), 'isolated task failed')
    await send({ kind: 'failed', nth })
  }
}

/** Settles once the parent has it, or is gone. */
function send(message: IsolatedMessage): Promise<void> {
  if (!process.connected) return Promise.resolve()
  return new Promise((resolve) => process.send!(message, () => resolve()))
}
