import { resolve } from 'node:path'
import type { Command } from 'commander'
import { withExamples } from '#gateway/cli/examples.ts'
import { say } from '../say.ts'

interface Options {
  readonly databaseHost: string
}

export function addKeysCommand(program: Command): void {
  const keys = program.command('keys').description('Create keys of gateways that run in containers')
  withExamples(
    keys.command('create <directory>'),
    './weir keys create keys',
    './weir keys create keys --database-host db.example.org',
  )
    .description(
      'Create the keys and passwords of gateways, their bus and their database; existing files are kept',
    )
    .option('--database-host <host>', 'Host of the database, with a port if not 3306', 'mariadb')
    .action(async (directory: string, { databaseHost }: Options) => {
      const { writeKeys } = await import('../../keys/write-keys.ts')
      for (const file of await writeKeys(resolve(directory), databaseHost)) say(file)
    })
}
