import { expect, test } from 'vitest'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { Relay } from '#test/env/relay.ts'
import { migrateDatabase } from './db/migrate.ts'
import { createLogger } from './log.ts'
import { startWithRetries } from './start-with-retries.ts'
import { waitFor } from './wait-for.ts'

test('a program waits for a database that is away at its start, and says so once', async () => {
  await using relay = await Relay.open(await freshDatabase('patience'))
  relay.set('refuse')
  let logged = ''
  let tries = 0
  const log = createLogger('test', 'info', { write: (line) => void (logged += line) })
  const started = startWithRetries(log, async () => {
    tries += 1
    await migrateDatabase(relay.url, 'cells/db/migrations')
    return 'started'
  })
  await waitFor('two tries', () => tries >= 2, 20_000)

  relay.set('pass')

  expect(await started).toBe('started')
  expect(logged.match(/waits for the database/g)).toHaveLength(1)
})

test('any other failure at the start ends the program', async () => {
  const log = createLogger('test', 'silent')
  const start = () => Promise.reject(new Error('CELL_ID is not set'))

  await expect(startWithRetries(log, start)).rejects.toThrow('CELL_ID is not set')
})
