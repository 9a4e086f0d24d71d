import type { Command } from 'commander'
import { withView } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import { seconds } from '../option-values.ts'
import type { MoveVolumeOptions } from '../volumes/move-volume.ts'

export function addVolumeCommands(program: Command, operator: Operator): void {
  const volume = noun(program, 'volume', 'Move volumes of all projects between cells and stores')
  withExamples(
    withView(volume.command('move <volume>')),
    './weir volume move data --cell south --wait',
    './weir volume move data --store fast --wait',
    "./weir volume move data --cell south --reason 'north is full'",
  )
    .description(
      'Move a volume that no server uses to another cell, or another store of its cell, by name or ID',
    )
    .option('--cell <cell>', 'Cell to move it to')
    .option('--store <store>', 'Store of its own cell to move it to, by name or ID')
    .option('--reason <text>', 'Reason, shown to operators')
    .option('--wait', 'Wait until the volume is there')
    .option('--timeout <seconds>', 'Stop waiting after this time; the move continues', seconds)
    .action(async (name: string, options: MoveVolumeOptions) => {
      const { moveVolume } = await import('../volumes/move-volume.ts')
      await moveVolume(operator, name, options)
    })
}
