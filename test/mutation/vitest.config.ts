import { defineConfig } from 'vitest/config'

/** The tests that `npm run mutate` chose for the code it mutates; it names them in the environment. */
export default defineConfig({
  test: {
    include: JSON.parse(process.env['WEIR_MUTATION_TESTS'] ?? '[]') as string[],
    testTimeout: 20_000,
    hookTimeout: 120_000,
    globalSetup: ['test/env/global-setup.ts'],
  },
})
