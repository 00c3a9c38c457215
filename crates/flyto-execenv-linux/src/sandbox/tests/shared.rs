//! What processes share outside of the file system: System V IPC and POSIX message queues.

use std::path::Path;

use flyto_execenv::{Isolation, Processes};

use super::super::inside::Scene;
use crate::bare::attempt::without_buffers;

#[tokio::test]
async fn shared_objects_are_those_of_a_system_without_them() {
    let test = "sandbox::tests::shared::shared_objects_are_those_of_a_system_without_them";
    let isolation = |_: &Path| Isolation::new().processes(Processes::Own);
    let Some(_) = Scene::enter(test, isolation).await else { return };
    // Without a filter, these answer that there is no such object, or that the address is bad.
    let calls: [(libc::c_long, &[u32]); 18] = [
        (libc::SYS_shmget, &[1, 0, 0]),
        (libc::SYS_shmat, &[0, 0, 0]),
        (libc::SYS_shmctl, &[0, libc::IPC_STAT as u32, 0]),
        (libc::SYS_shmdt, &[0]),
        (libc::SYS_semget, &[1, 0, 0]),
        (libc::SYS_semop, &[0, 0, 1]),
        (libc::SYS_semctl, &[0, 0, libc::IPC_STAT as u32, 0]),
        (libc::SYS_semtimedop, &[0, 0, 1, 0]),
        (libc::SYS_msgget, &[1, 0]),
        (libc::SYS_msgsnd, &[0, 0, 1, 0]),
        (libc::SYS_msgrcv, &[0, 0, 1, 0, libc::IPC_NOWAIT as u32]),
        (libc::SYS_msgctl, &[0, libc::IPC_STAT as u32, 0]),
        (libc::SYS_mq_open, &[0, 0, 0, 0]),
        (libc::SYS_mq_unlink, &[0]),
        (libc::SYS_mq_timedsend, &[0, 0, 0, 0, 0]),
        (libc::SYS_mq_timedreceive, &[0, 0, 0, 0, 0]),
        (libc::SYS_mq_notify, &[0, 0]),
        (libc::SYS_mq_getsetattr, &[0, 0, 0]),
    ];
    for (number, args) in calls {
        assert_eq!(without_buffers(number, args), libc::ENOSYS as u32, "call {number}");
    }
}
