import type { Command } from 'commander'
import { withExamples } from '#gateway/cli/examples.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { lockDeployment } from '../../deployment/lock.ts'
import { loadState } from '../../deployment/state.ts'
import type { UpgradeOptions } from '../../upgrade/options.ts'
import { say } from '../say.ts'
import { upTo } from '../up-to.ts'

const WORD_WIDTH = 5
const WATCH_MAX_S = 3_600
const WATCH_S = 5
const MS_PER_S = 1_000

export function addUpgradeCommand(program: Command): void {
  const upgrade = program.command('upgrade').description('Check and run upgrades')
  addCheck(upgrade)
  addRun(upgrade)
}

function addCheck(upgrade: Command): void {
  withExamples(upgrade.command('check'), './weir upgrade check')
    .description(
      'Check that the release of this checkout works with the databases and cells; exit with 1 if not',
    )
    .action(async () => {
      const { checkUpgrade } = await import('../../upgrade/check-upgrade.ts')
      const findings = await checkUpgrade(layoutIn(), false)
      for (const { is, what } of findings) say(`${is.padEnd(WORD_WIDTH)} ${what}`)
      if (findings.some(({ is }) => is === 'bad')) process.exitCode = 1
    })
}

interface RunFlags {
  readonly back?: true
  readonly units?: true
  readonly dryRun?: true
  /** False with `--no-backup`. */
  readonly backup: boolean
  readonly backupDirectory?: string
  readonly watch: number
}

function addRun(upgrade: Command): void {
  withExamples(
    upgrade.command('run'),
    'WEIR_HOME=/srv/weir/.weir ./weir upgrade run --dry-run',
    'WEIR_HOME=/srv/weir/.weir ./weir upgrade run',
    './weir upgrade run --units --watch 60',
  )
    .description(
      'Replace every gateway, cell and compute of this machine by the release of this checkout, one by one; stop at the first sign of trouble',
    )
    .option('--dry-run', 'Check, and show what would be replaced; change nothing')
    .option('--back', 'Return to the release of this checkout from a newer one')
    .option(
      '--units',
      'Replace the units of systemd (default: where there is no deployment of ./weir up)',
    )
    .option('--no-backup', 'Do not back up the databases first')
    .option(
      '--backup-directory <directory>',
      'Directory with backups (default: backups in the folder of the deployment, or /var/backups/weir-upgrade)',
    )
    .option(
      '--watch <seconds>',
      'Watch each new process for this time before the next one is replaced',
      upTo(WATCH_MAX_S),
      WATCH_S,
    )
    .action(run)
}

async function run(flags: RunFlags): Promise<void> {
  const layout = layoutIn()
  const options: UpgradeOptions = {
    isBack: flags.back === true,
    isDryRun: flags.dryRun === true,
    backupDirectory: flags.backup ? flags.backupDirectory : false,
    watchMs: flags.watch * MS_PER_S,
  }
  if (flags.units === true || loadState(layout) === undefined) {
    const { upgradeUnits } = await import('../../upgrade/upgrade-units.ts')
    return upgradeUnits(options, say)
  }
  const { upgradeDeployment } = await import('../../upgrade/upgrade-deployment.ts')
  using _lock = lockDeployment(layout)
  await upgradeDeployment(layout, options, say)
}
