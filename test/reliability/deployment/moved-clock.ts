import { readFileSync } from 'node:fs'

// Loaded before a program (`node --import`): its wall clock is as far ahead as a file says, in milliseconds, and steps when
// the file changes. Timers and the monotonic clock stay, as they do when a machine's clock is set.

const POLL_MS = 100

const path = process.env['RELIABILITY_CLOCK_FILE'] ?? ''
const real = Date.now.bind(Date)
let aheadMs = read()
setInterval(() => (aheadMs = read()), POLL_MS).unref()
Date.now = () => real() + aheadMs
globalThis.Date = new Proxy(Date, {
  construct: (target, args) =>
    args.length === 0 ? new target(target.now()) : new target(...(args as [number])),
})

function read(): number {
  return Number(readFileSync(path, 'utf8')) || 0
}
