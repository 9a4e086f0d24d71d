import type { Command } from 'commander'
import { layoutIn } from '../../deployment/layout.ts'
import { say } from '../say.ts'

const WORD_WIDTH = 5

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description(
      'Check this machine for missing packages, busy ports and other problems; exit with 1 when something must be done',
    )
    .action(async () => {
      const { examine } = await import('../../doctor/examine.ts')
      const findings = await examine(layoutIn())
      for (const { is, what } of findings) say(`${is.padEnd(WORD_WIDTH)} ${what}`)
      if (findings.some(({ is }) => is === 'bad')) process.exitCode = 1
    })
}
