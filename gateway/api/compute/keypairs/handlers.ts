import { createKeypair } from './create-keypair.ts'
import { deleteKeypair } from './delete-keypair.ts'
import { listKeypairs } from './list-keypairs.ts'
import { showKeypair } from './show-keypair.ts'

export const keypairHandlers = { createKeypair, deleteKeypair, listKeypairs, showKeypair }
