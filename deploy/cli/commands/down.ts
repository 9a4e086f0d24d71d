import type { Command } from 'commander'
import { layoutIn } from '../../deployment/layout.ts'
import { lockDeployment } from '../../deployment/lock.ts'
import { progress, say } from '../say.ts'

export function addDownCommand(program: Command): void {
  program
    .command('down')
    .description('Stop all processes of the deployment; data is kept')
    .action(async () => {
      const { bringDown } = await import('../../down/bring-down.ts')
      const layout = layoutIn()
      using _lock = lockDeployment(layout)
      const ran = await bringDown(layout, progress)
      say(ran ? 'Weir is down. ./weir up brings it back.' : 'Weir was down already.')
    })
}
