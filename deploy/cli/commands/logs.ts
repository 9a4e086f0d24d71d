import { existsSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { Failure } from '#common/errors.ts'
import { withExamples } from '#gateway/cli/examples.ts'
import { instant } from '#gateway/cli/option-values.ts'
import { runShown } from '../../checks/run-checks.ts'
import { type Layout, layoutIn } from '../../deployment/layout.ts'
import { existingState } from '../../deployment/state.ts'
import { logPath } from '../../status/log-path.ts'
import { LOG_LEVELS, type LogFile, type LogFilter } from '../../status/merged-logs.ts'
import { say } from '../say.ts'
import { upTo } from '../up-to.ts'

const LINES = 50
const LINES_MAX = 1_000_000
/** Of gateways, cells and computes: each line is a JSON object. */
const OWN = /^(?:gateway|cell|compute)-/

interface LogsOptions extends LogFilter {
  readonly follow?: true
  readonly lines: number
}

export function addLogsCommand(program: Command): void {
  withExamples(
    program.command('logs'),
    './weir logs --level warn --since 1h',
    './weir logs --request req-0f5a1c9e-4d0e-4a3b-8e7c-1c2d3e4f5a6b',
    './weir logs mariadb -f',
  )
    .description(
      'Show the newest lines of one log, or of all gateways, cells and computes in the order of their times',
    )
    .argument('[name]', 'Name of a process, as in ./weir status')
    .option('-f, --follow', 'Follow the log')
    .option('-n, --lines <n>', 'Number of lines', upTo(LINES_MAX), LINES)
    .addOption(
      new Option('--level <level>', 'Only lines of this level, and of worse ones').choices([
        ...LOG_LEVELS,
      ]),
    )
    .option('--since <time>', 'Only since this time, or this long ago: 10m, 2h, 3d', instant)
    .option('--until <time>', 'Only until this time, or this long ago', instant)
    .option('--server <id>', 'Only lines about this server')
    .option('--request <id>', 'Only lines about this request')
    .action(async (name: string | undefined, options: LogsOptions) => {
      const files = await logFiles(layoutIn(), name)
      if (name !== undefined && !OWN.test(name)) await showOther(files, name, options)
      else await showOwn(files, options)
    })
}

async function showOwn(
  files: readonly LogFile[],
  { follow, lines, ...filter }: LogsOptions,
): Promise<void> {
  const { followLines, mergedLines } = await import('../../status/merged-logs.ts')
  for (const line of await mergedLines(files, filter, lines)) say(line)
  if (follow === true) await followLines(files, filter, say)
}

/** The log of another program has a form of its own. */
async function showOther(
  files: readonly LogFile[],
  name: string,
  { follow, lines, ...filter }: LogsOptions,
): Promise<void> {
  const [given] = Object.keys(filter)
  if (given !== undefined)
    throw new Failure('invalid', `--${given} is for logs of Weir, and ${name} is another program.`)
  const paths = files.map(({ path }) => path)
  const args = ['-n', String(lines), ...(follow === true ? ['-F'] : []), '--', ...paths]
  process.exitCode = await runShown('tail', args)
}

async function logFiles(layout: Layout, wanted: string | undefined): Promise<readonly LogFile[]> {
  const { processStates } = await import('../../status/process-states.ts')
  const names = (await processStates(layout, existingState(layout))).map(({ name }) => name)
  if (wanted !== undefined && !names.includes(wanted))
    throw new Failure('not-found', `There is no log ${wanted}. There are: ${names.join(', ')}`)
  const own = names.filter((name) => OWN.test(name))
  const files = (wanted === undefined ? own : [wanted]).map((process) => {
    return { process, path: logPath(layout, process) }
  })
  const written = files.filter(({ path }) => existsSync(path))
  if (written.length === 0) throw new Failure('not-found', 'Nothing has been logged yet.')
  return written
}
