import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const NODE_MIN = [24, 12] as const
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1]))
  throw new Error(
    `Tests need Node ${NODE_MIN.join('.')}, this is ${process.versions.node}. Run npx vitest, or ./weir test.`,
  )

/** With a worker for each CPU a third of the CPU time was idle: tests wait for databases, processes and guests. */
const maxWorkers = availableParallelism() + 1
/** Files that share nothing but modules, which therefore stay loaded from one to the next: that halves what they cost. */
const TOGETHER = { isolate: false, maxWorkers, sequence: { groupOrder: 0 } }
/** Clients, killed processes and guests. */
const APART = { maxWorkers, sequence: { groupOrder: 1 } }
/** What must have the machine to itself: whole control planes, whose users are to notice nothing but latency. */
const ALONE = ['test/faults/control-plane.test.ts', 'test/reliability/run.test.ts']
const LAST = { maxWorkers: 1, sequence: { groupOrder: 2 } }

const OUTSIDE = ['node_modules/**', '.weir/**']

/** A loaded machine makes tests slower and not red: so long a state is waited for where nothing else is said. */
const POLL = { timeout: 30_000, interval: 50 }

const project = (
  name: string,
  include: string[],
  testTimeout: number,
  how: {
    maxWorkers: number
    sequence: { groupOrder: number }
    isolate?: boolean
    exclude?: string[]
  },
) => ({
  extends: true as const,
  test: {
    name,
    include,
    testTimeout,
    ...how,
    hookTimeout: 120_000,
    expect: { poll: POLL },
    globalSetup: ['test/env/global-setup.ts'],
  },
})

export default defineConfig({
  test: {
    passWithNoTests: false,
    exclude: OUTSIDE,
    projects: [
      project(
        'unit',
        [
          '{common,openapi,drivers,cells,gateway,deploy}/**/*.test.ts',
          'test/*.test.ts',
          'test/bench/**/*.test.ts',
          'test/reliability/*/*.test.ts',
        ],
        60_000,
        TOGETHER,
      ),
      project('contract', ['test/contract/**/*.test.ts'], 120_000, TOGETHER),
      project('api', ['test/api/**/*.test.ts'], 120_000, TOGETHER),
      project('clients', ['test/{clients,documents}/**/*.test.ts'], 300_000, APART),
      project('real', ['test/real/**/*.test.ts'], 300_000, APART),
      project('faults', ['test/faults/**/*.test.ts'], 300_000, {
        ...APART,
        exclude: [...OUTSIDE, ...ALONE],
      }),
      project('simulation', ['test/simulation/**/*.test.ts'], 180_000, APART),
      project('reliability', ALONE, 600_000, LAST),
    ],
  },
})
