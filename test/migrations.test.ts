import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateMySQLDrizzleJson, generateMySQLMigration } from 'drizzle-kit/api'
import { expect, test } from 'vitest'

// Goal: no schema changes without its migration.

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

    expect(missing, 'Run: npm run db:generate').toEqual([])
  },
)
