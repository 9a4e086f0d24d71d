import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { installFastResolver } from '#common/install-fast-resolver.ts'
import { EXIT_CODES } from '#gateway/cli/exit-codes.ts'
import { layoutIn } from '../deployment/layout.ts'

const layout = layoutIn()

installFastResolver()
// Halves the time that a command takes to begin.
if (existsSync(layout.home)) enableCompileCache(layout.compileCache)

// The reader of the output may stop early, as head does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

const { runCommand } = await import('./run-command.ts')
await runCommand(
  {
    env: process.env,
    directory: process.cwd(),
    home: homedir(),
    local: { file: layout.cloudsFile, name: 'weir-admin' },
    out: process.stdout,
    err: process.stderr,
    secret: async (prompt) => {
      const { readSecret } = await import('./read-secret.ts')
      return readSecret(prompt)
    },
    localFiles: async () => {
      const { localFiles } = await import('../status/logs.ts')
      return localFiles(layout)
    },
    logLines: async (text) => {
      const { logLines } = await import('../status/logs.ts')
      return logLines(layout, text)
    },
    forgetCell: async (id, options) => {
      const { forgetCell } = await import('../down/forget-cell.ts')
      await forgetCell(layout, id, options)
    },
    retireCell: async (id) => {
      const { retireCell } = await import('../down/forget-cell.ts')
      await retireCell(layout, id)
    },
    endsAs: (ending) => {
      process.exitCode = EXIT_CODES[ending]
    },
  },
  process.argv.slice(2),
)
