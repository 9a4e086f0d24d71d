import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { Options } from '#deploy/mariadb/option-file.ts'
import { startMariadb, stopMariadb } from '#deploy/mariadb.ts'
import { startNats, stopNats } from '#deploy/nats.ts'
import type { TestServices } from './services.ts'

/**
 * Tests that kill a MariaDB have one of their own: the data of this one need survive nothing. Files that nothing syncs, in
 * one tablespace, halve what a database costs that a test file makes, and a commit costs a third.
 */
const UNSAFE: Options = [
  ['innodb-flush-log-at-trx-commit', 0],
  ['innodb-flush-method', 'nosync'],
  ['innodb-doublewrite', 0],
  ['innodb-file-per-table', 0],
  ['sync-frm', 0],
]

/**
 * Runs once per vitest project, in vitest's own process. The services start when a test file first asks for them
 * over the socket, so a run of pure unit tests starts nothing; the kernel kills them if vitest itself is killed.
 */
export default function setup(project: TestProject): () => Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'weir-test-'))
  const socket = join(directory, 'services.sock')
  let started: Promise<TestServices> | undefined
  const server = createServer((client) => {
    client.on('error', () => client.destroy())
    started ??= startServices(directory)
    started.then(
      (services) => client.end(JSON.stringify({ services })),
      (error: unknown) => client.end(JSON.stringify({ error: String(error) })),
    )
  })
  server.listen(socket)
  project.provide('servicesSocket', socket)
  return () => teardown(server, directory)
}

async function startServices(directory: string): Promise<TestServices> {
  const [mariadb, nats] = await Promise.all([
    startMariadb(join(directory, 'mariadb'), 'with-parent', UNSAFE),
    startNats(join(directory, 'nats'), 'with-parent'),
  ])
  const { url: natsUrl, keys: natsKeys } = nats
  const natsLeafUrl = `nats://127.0.0.1:${nats.leafPort}`
  return { directory, databaseRootUrl: mariadb.rootUrl(), natsUrl, natsLeafUrl, natsKeys }
}

async function teardown(server: Server, directory: string): Promise<void> {
  server.close()
  await Promise.all([stopMariadb(join(directory, 'mariadb')), stopNats(join(directory, 'nats'))])
  rmSync(directory, { recursive: true, force: true })
}
