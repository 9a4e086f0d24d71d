import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('a program without its settings names each once, and prints no stack', async () => {
  const main = fileURLToPath(new URL('../cells/main.ts', import.meta.url))
  const run = promisify(execFile)(process.execPath, [main], { env: {} })

  await expect(run).rejects.toMatchObject({
    code: 2,
    stdout: '',
    stderr: `Configuration:
  CELL_ID is not set
  CELL_NAME is not set
  CELL_PROCESS is not set
  CELL_DATABASE_URL is not set
  CELL_SECRET_KEY is not set
  CELL_NATS_URL is not set
`,
  })
})
