import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { projectRoot } from '#deploy/paths.ts'
import { Checkout } from '#test/env/checkout.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { whyNoOpenstack } from '#test/env/openstack-cli.ts'

// Goal: what the tutorial tells a newcomer to type works in that order, on simulated hosts.

const BLOCK = /^```sh\n(.*?)^```$/gms
/** Goes on until it is interrupted. */
const ENDLESS = './weir events -f'
/** What the reader reads off `./weir status`. */
const PID = `$(./weir status | awk '$1 == "cell-north" { print $4 }')`
/** While a cell is not reachable `cell list` says so with this code. */
const PARTIAL = 4

const page = readFileSync('docs/tutorial/first-cloud.md', 'utf8')
const lines = Array.from(page.matchAll(BLOCK), ([, block = '']) => block.trim().split('\n')).flat()

let checkout: Checkout

beforeAll(() => {
  checkout = new Checkout()
})

afterAll(() => checkout?.[Symbol.asyncDispose]())

/** The user's terminal has what `./weir env` prints; the operator's has not. */
async function typed(line: string): Promise<{ readonly code: unknown; readonly said: string }> {
  const command = line.replace(/^\.\/weir up$/, './weir up --driver fake --hosts 1')
  const script = line.startsWith('./weir')
    ? command
    : `eval "$(./weir env)"; ${command.replace('PID', PID)}`
  const child = spawn('/bin/bash', ['-c', script], {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], WEIR_HOME: checkout.home },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  const said = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = (await exited) as unknown[]
  return { code, said: said.join('') }
}

const isSkipped = whyNoOpenstack() !== undefined || !isFullRun

test.skipIf(isSkipped)('the tutorial can be typed as it stands', async () => {
  expect(lines.length).toBeGreaterThan(15)
  for (const line of lines.filter((each) => each !== ENDLESS)) {
    const { code, said } = await typed(line)
    const isFine = code === 0 || (code === PARTIAL && line === './weir cell list')
    expect(isFine ? 'ok' : `${line} ended with ${String(code)}: ${said}`).toBe('ok')
  }
})
