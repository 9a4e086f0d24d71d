import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'

// Goal: every answer is true in the end, under all faults and all requests of users.

/** How long things go wrong: `.ci/run` takes five minutes. */
const MINUTES = Number(process.env['RELIABILITY_MINUTES'] ?? 0.5)
/** To start, to become quiet, to compare. */
const BESIDE_MS = 360_000
/** Namespaces take root. In CI they must be had. */
const mayMakeNamespaces =
  process.env['CI'] === 'true' ||
  spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0

test.runIf(mayMakeNamespaces)(
  `after ${MINUTES} minutes of faults all that was answered is true`,
  {
    timeout: MINUTES * 60_000 + BESIDE_MS,
  },
  async () => {
    const main = join(import.meta.dirname, 'main.ts')
    const args = ['--pdeathsig', 'KILL', '--', process.execPath, main, '--minutes', String(MINUTES)]
    const child = spawn('setpriv', args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk
      // The seed and the violations belong in the log of a run, even if the run is ended early.
      process.stdout.write(chunk)
    })
    const [code] = (await once(child, 'close')) as [number | null]

    expect(code, output).toBe(0)
  },
)
