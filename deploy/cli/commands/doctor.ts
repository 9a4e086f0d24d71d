import type { Command } from 'commander'
import { say } from '../say.ts'

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('what on this machine helps or hinders Weir')
    .action(async () => {
      const { examine } = await import('../../status/examine.ts')
      const findings = examine()
      for (const { isWell, what } of findings) say(`${isWell ? 'ok  ' : 'MISS'}  ${what}`)
      if (findings.some(({ isWell }) => !isWell)) process.exitCode = 1
    })
}
