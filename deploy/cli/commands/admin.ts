import { join } from 'node:path'
import type { Command } from 'commander'
import { FILES } from '../../control-plane/control-plane.ts'
import { cloudAccount } from '../../deployment/clouds-file.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { existingState } from '../../deployment/state.ts'
import { say } from '../say.ts'
import { foldersOf, withFolders } from './control-plane.ts'

export function addAdminCommand(program: Command): void {
  const admin = program
    .command('admin')
    .description('Create or recover the administrator of this deployment')
  withFolders(admin.command('bootstrap'))
    .description('Create the users admin and demo of a control plane made by ./weir init')
    .action(async (flags: Parameters<typeof foldersOf>[0]) => {
      const { bootstrapControlPlane } = await import('../../control-plane/bootstrap.ts')
      const folders = foldersOf(flags)
      const isNew = await bootstrapControlPlane(folders)
      const clouds = join(folders.directory, FILES.clouds)
      say(
        isNew
          ? `The user admin can log in: export OS_CLOUD=weir-admin OS_CLIENT_CONFIG_FILE=${clouds}`
          : 'The user admin exists already, and keeps its password.',
      )
    })
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
