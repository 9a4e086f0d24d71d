import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readJoinTokenOption } from './read-secret.ts'

test('a join token comes from the file that is named, else from the environment', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'weir-token-')), 'token')
  writeFileSync(file, 'weir1.of-the-file\n')
  const env = { WEIR_JOIN_TOKEN: ' weir1.of-the-environment ' }

  expect(await readJoinTokenOption(file, env)).toBe('weir1.of-the-file')
  expect(await readJoinTokenOption(undefined, env)).toBe('weir1.of-the-environment')
  await expect(readJoinTokenOption(undefined, {})).rejects.toThrow('--token-file')
  await expect(readJoinTokenOption(`${file}.not`, env)).rejects.toThrow('cannot be read')
})
