import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const NODE_MIN = [24, 12] as const
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1]))
  throw new Error(
    `Tests need Node ${NODE_MIN.join('.')}, this is ${process.versions.node}. Run npx vitest, or ./weir test.`,
  )

/** With a worker for each CPU a third of the CPU time was idle: tests wait for databases, processes and guests. */
const maxWorkers = availableParallelism() + 1
/** Files that share nothing but modules, which therefore stay loaded from one to the next: that halves what they cost. */
const FIRST = { isolate: false, maxWorkers, sequence: { groupOrder: 0 } }
/** Clients, killed processes and guests. */
const THEN = { isolate: false, maxWorkers, sequence: { groupOrder: 1 } }
/** They take longest, and much of that is waiting: begun last, they would keep only one worker busy in the end. */
const BEGUN_FIRST = [
  'test/simulation/simulation.test.ts',
  'test/real/libvirt-driver.test.ts',
  'test/faults/lost-messages.test.ts',
  'test/real/ovn-deployment.test.ts',
  'test/faults/galera.test.ts',
  'test/faults/supervisor.test.ts',
  'test/api/server-cell-moves.test.ts',
  'test/api/volume-cell-moves.test.ts',
]

/** On a machine that has run no test yet vitest knows no durations, and would begin the largest files first. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const nth = BEGUN_FIRST.findIndex((name) => moduleId.endsWith(name))
      return nth === -1 ? BEGUN_FIRST.length : nth
    }
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other))
  }
}

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
    sequence: { sequencer: LongestFirst },
    projects: [
      project(
        'unit',
        [
          '{common,openapi,drivers,cells,gateway,deploy}/**/*.test.ts',
          'test/*.test.ts',
          'test/{bench,mutation}/**/*.test.ts',
          'test/reliability/*/*.test.ts',
        ],
        60_000,
        FIRST,
      ),
      project('contract', ['test/contract/**/*.test.ts'], 120_000, FIRST),
      project('api', ['test/api/**/*.test.ts'], 120_000, FIRST),
      project('clients', ['test/{clients,documents}/**/*.test.ts'], 300_000, THEN),
      project('real', ['test/real/**/*.test.ts'], 300_000, THEN),
      project('faults', ['test/faults/**/*.test.ts'], 300_000, {
        ...THEN,
        exclude: [...OUTSIDE, ...ALONE],
      }),
      project('simulation', ['test/simulation/**/*.test.ts'], 180_000, THEN),
      project('reliability', ALONE, 600_000, LAST),
    ],
  },
})
