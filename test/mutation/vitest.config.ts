import { defineConfig } from 'vitest/config'

/** The tests that `npm run mutate` chose for the code it mutates; it names them in the environment. */
export default defineConfig({
  test: {
    isolate: false,
    include: JSON.parse(process.env['WEIR_MUTATION_TESTS'] ?? '[]') as string[],
    testTimeout: 40_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000, interval: 50 } },
    globalSetup: ['test/env/global-setup.ts'],
  },
})
