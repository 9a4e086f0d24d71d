import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Many files at once; `ALONE` comes after, one at a time: what kills processes, runs guests or drives real clients. */
const TOGETHER = { maxWorkers: availableParallelism(), sequence: { groupOrder: 0 } }
const ALONE = { maxWorkers: 1, sequence: { groupOrder: 1 } }

const project = (
  name: string,
  include: string[],
  testTimeout: number,
  how: typeof TOGETHER = ALONE,
) => ({
  extends: true as const,
  test: {
    name,
    include,
    testTimeout,
    ...how,
    hookTimeout: 120_000,
    globalSetup: ['test/env/global-setup.ts'],
  },
})

export default defineConfig({
  test: {
    passWithNoTests: false,
    exclude: ['node_modules/**', '.weir/**'],
    projects: [
      project(
        'unit',
        [
          '{common,openapi,drivers,cells,gateway,deploy}/**/*.test.ts',
          'test/*.test.ts',
          'test/bench/*.test.ts',
        ],
        20_000,
        TOGETHER,
      ),
      project('contract', ['test/contract/**/*.test.ts'], 60_000, TOGETHER),
      project('api', ['test/api/**/*.test.ts'], 60_000, TOGETHER),
      project('clients', ['test/clients/**/*.test.ts'], 180_000),
      project('real', ['test/real/**/*.test.ts'], 300_000),
      project('faults', ['test/faults/**/*.test.ts'], 120_000),
      project('simulation', ['test/simulation/**/*.test.ts'], 180_000),
    ],
  },
})
