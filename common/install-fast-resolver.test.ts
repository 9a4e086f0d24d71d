import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** What a program prints that loads lightly first; vitest itself has a loader of its own. */
async function printed(program: string): Promise<string> {
  const lightly =
    "import { installFastResolver } from '#common/install-fast-resolver.ts'; installFastResolver();"
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    lightly + program,
  ])
  return stdout.trim()
}

test('a module is the same one by whichever path it is imported, and packages are found', async () => {
  const program = `
    const common = './common/'
    const { Failure } = await import('#common/errors.ts')
    const { Failure: again } = await import(common + 'errors.ts')
    const { Database } = await import('#common/db/database.ts')
    process.stdout.write([Failure === again, typeof Database].join(' '))`

  expect(await printed(program)).toBe('true function')
})

test('a module that is not there is named', async () => {
  const program = "const common = './common/'; await import(common + 'absent.ts')"

  await expect(printed(program)).rejects.toThrow('common/absent.ts')
})
