import type { Command } from 'commander'
import { withExamples } from '#gateway/cli/examples.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { say } from '../say.ts'

const WORD_WIDTH = 5

export function addUpgradeCommand(program: Command): void {
  const upgrade = program.command('upgrade').description('Run pre-upgrade checks')
  withExamples(upgrade.command('check'), './weir upgrade check')
    .description(
      'Check that the release of this checkout works with the databases and cells; exit with 1 if not',
    )
    .action(async () => {
      const { checkUpgrade } = await import('../../upkeep/check-upgrade.ts')
      const findings = await checkUpgrade(layoutIn())
      for (const { is, what } of findings) say(`${is.padEnd(WORD_WIDTH)} ${what}`)
      if (findings.some(({ is }) => is === 'bad')) process.exitCode = 1
    })
}
