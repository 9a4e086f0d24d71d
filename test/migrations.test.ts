import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateMySQLDrizzleJson, generateMySQLMigration } from 'drizzle-kit/api'
import { expect, test } from 'vitest'

// Goal: no schema changes without its migration, and no migration of a release changes.

const root = join(import.meta.dirname, '..')

test.each(['gateway', 'cells'])(
  'the migrations of %s make what its schema says',
  async (component) => {
    const folder = join(root, component, 'db')
    const modules = globSync('schema/*.ts', { cwd: folder }).map((file) => join(folder, file))
    const schema: Record<string, unknown> = {}
    for (const module of modules) Object.assign(schema, await import(module))
    const [newest] = globSync('migrations/meta/*_snapshot.json', { cwd: folder }).sort().reverse()
    const snapshot = JSON.parse(readFileSync(join(folder, newest ?? ''), 'utf8'))

    const missing = await generateMySQLMigration(
      snapshot,
      await generateMySQLDrizzleJson(schema, snapshot.id),
    )

    expect(missing, 'Run: npm run db:generate -- NAME').toEqual([])
  },
)

/** Paths and digests of the migrations that each release added. */
type Released = Readonly<Record<string, Readonly<Record<string, string>>>>

test('migrations of releases are as they were released', () => {
  const file = join(root, 'deploy/release/released-migrations.json')
  const released = Object.assign(
    {},
    ...Object.values(JSON.parse(readFileSync(file, 'utf8')) as Released),
  ) as Released[string]
  const present = Object.keys(released).map((path) => [
    path,
    createHash('sha256')
      .update(readFileSync(join(root, path)))
      .digest('hex'),
  ])

  expect(present.length).toBeGreaterThan(1)
  expect(
    Object.fromEntries(present),
    'Add a migration instead: npm run db:generate -- NAME',
  ).toEqual(released)
})

test('no column is virtual', () => {
  const files = globSync('*/db/migrations/*.sql', { cwd: root })
  const virtual = files.filter((file) =>
    /\bvirtual\b/i.test(readFileSync(join(root, file), 'utf8')),
  )

  // MariaDB (seen with 10.11.19) computes the values of an indexed one while it purges old rows. A node of a cluster that was
  // killed cannot do that while it recovers its position: it takes all memory of the machine and does not end.
  expect(virtual, 'Make the column stored').toEqual([])
})
