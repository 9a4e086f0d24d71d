import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'

/** Rewrites both initial migrations from the schemas: until the first release there is one migration per database. */
for (const component of ['gateway', 'cells']) {
  rmSync(`${component}/db/migrations`, { recursive: true, force: true })
  execFileSync(
    process.execPath,
    [
      'node_modules/drizzle-kit/bin.cjs',
      'generate',
      `--config=${component}/drizzle.config.ts`,
      '--name=initial',
    ],
    { stdio: 'inherit' },
  )
}
