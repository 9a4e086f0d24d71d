import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { projectRoot } from '#deploy/paths.ts'
import { isFullRun } from '#test/env/full-run.ts'

// Goal: the commands that reproduce published figures still do. What they measure here means nothing.

const LIMIT_MS = 900_000
const OUTPUT_MAX = 16 * 1024 * 1024

const BENCHMARKS: readonly (readonly [name: string, args: readonly string[], shows: RegExp])[] = [
  [
    'test/bench/main.ts',
    [
      '--phases',
      'first,get,storms,batch,contention',
      '--rounds',
      '1',
      '--storm-rounds',
      '1',
      '--servers',
      '20',
    ],
    /DELETE \/servers\/\{id\} to gone.*[^]*POST \/servers of 20, on a network[^]*exactly 50 on each host/,
  ],
  [
    'test/bench/federation/main.ts',
    ['--cells', '2', '--hosts', '2', '--servers', '20', '--idle-s', '1'],
    /while servers change.*[^]*one more cell: takes servers/,
  ],
  // Two rounds: what was attached in one is free in the next.
  [
    'test/bench/main.ts',
    ['--phases', 'volumes', '--rounds', '2'],
    /volumes detached, 1000 at c=16/,
  ],
  ['test/bench/scheduler/main.ts', [], /^10000 [^]*^no cell has the zone/m],
]

test.runIf(isFullRun).each(BENCHMARKS)(
  '%s measures, and prints its figures',
  { timeout: LIMIT_MS },
  async (script, args, shows) => {
    const options = { cwd: projectRoot, timeout: LIMIT_MS, maxBuffer: OUTPUT_MAX }
    const { stdout } = await promisify(execFile)(process.execPath, [script, ...args], options)

    expect(stdout).toMatch(shows)
  },
)
