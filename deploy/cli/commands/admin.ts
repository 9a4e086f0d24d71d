import type { Command } from 'commander'
import { cloudAccount } from '../../deployment/clouds-file.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { existingState } from '../../deployment/state.ts'
import { say } from '../say.ts'

export function addAdminCommand(program: Command): void {
  const admin = program.command('admin').description('Administrator of this deployment')
  admin
    .command('recover')
    .description('Enable the user admin again, with all roles and the password of clouds.yaml')
    .action(async () => {
      const layout = layoutIn()
      existingState(layout)
      const { openDatabase } = await import('../../upkeep/open-database.ts')
      const { recoverAdministrator } = await import(
        '#gateway/app/identity/recover-administrator.ts'
      )
      await using db = openDatabase(layout, 'weir')
      await recoverAdministrator(db, {
        adminPassword: cloudAccount(layout, 'weir-admin').password,
        demoPassword: cloudAccount(layout, 'weir').password,
      })
      say('The user admin can log in again: export OS_CLOUD=weir-admin')
    })
}
