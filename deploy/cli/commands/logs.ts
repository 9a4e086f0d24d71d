import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { Failure } from '#common/errors.ts'
import { runShown } from '../../checks/run-checks.ts'
import { type Layout, layoutIn } from '../../deployment/layout.ts'
import { existingState } from '../../deployment/state.ts'
import { logPath } from '../../status/log-path.ts'
import { upTo } from '../up-to.ts'

const LINES = 50
const LINES_MAX = 1_000_000

interface LogsOptions {
  readonly follow?: true
  readonly lines: number
}

export function addLogsCommand(program: Command): void {
  program
    .command('logs')
    .description('Show the newest lines of one log, or of all logs')
    .argument('[name]', 'Name of a process, as in ./weir status')
    .option('-f, --follow', 'Follow the log')
    .option('-n, --lines <n>', 'Number of lines', upTo(LINES_MAX), LINES)
    .action(async (name: string | undefined, { follow, lines }: LogsOptions) => {
      const files = await logFiles(layoutIn(), name)
      const args = ['-n', String(lines), ...(follow === true ? ['-F'] : []), '--', ...files]
      process.exitCode = await runShown('tail', args)
    })
}

async function logFiles(layout: Layout, wanted: string | undefined): Promise<readonly string[]> {
  const { processStates } = await import('../../status/process-states.ts')
  const names = (await processStates(layout, existingState(layout))).map(({ name }) => name)
  if (wanted !== undefined && !names.includes(wanted))
    throw new Failure('not-found', `There is no log ${wanted}. There are: ${names.join(', ')}`)
  const files = (wanted === undefined ? names : [wanted]).map((name) => logPath(layout, name))
  const written = files.filter(existsSync)
  if (written.length === 0) throw new Failure('not-found', 'Nothing has been logged yet.')
  return written
}
