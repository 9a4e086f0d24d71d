import { execFileSync } from 'node:child_process'

/**
 * Adds to each database whose schema has changed a migration with what has changed, under the name that is given. Migrations
 * of releases stay as they are: databases have them.
 */
const [name] = process.argv.slice(2)
if (name === undefined || !/^[a-z][a-z0-9_]*$/.test(name))
  throw new Error(
    `'${name ?? ''}' is no name of a migration. Say what it does, in lower case: npm run db:generate -- add_zone_to_servers`,
  )
for (const component of ['gateway', 'cells'])
  execFileSync(
    process.execPath,
    [
      'node_modules/drizzle-kit/bin.cjs',
      'generate',
      `--config=${component}/drizzle.config.ts`,
      `--name=${name}`,
    ],
    { stdio: 'inherit' },
  )
