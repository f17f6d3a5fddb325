#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sched.h>
#include <time.h>
static double now(){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec+t.tv_nsec/1e9;}
static void spin(double us){double e=now()+us/1e6;while(now()<e);}
/* cell: on order: fork true; on end: send; worker: epoll both, spin W us, send order */
int main(int c,char**v){
  int n=atoi(v[1]),w=atoi(v[2]),ep=strstr(v[3],"epoll")!=0, thr=strstr(v[3],"thread")!=0;
  int s[2][2];
  for(int k=0;k<2;k++){socketpair(AF_UNIX,SOCK_SEQPACKET|SOCK_CLOEXEC,0,s[k]);
    if(!fork()){close(s[k][0]);char b[8];
      while(recv(s[k][1],b,8,0)>0){pid_t p=vfork();if(!p){char*a[]={"true",0};execv("/bin/true",a);_exit(1);}int st;waitpid(p,&st,0);send(s[k][1],b,8,0);}
      _exit(0);} }
  double a=now();
  if(thr){ /* two processes as workers: one per cell */
    for(int k=0;k<2;k++) if(!fork()){char b[8];for(int i=0;i<n/2;i++){send(s[k][0],b,8,0);recv(s[k][0],b,8,0);spin(w);}_exit(0);}
    close(s[0][0]);close(s[1][0]);while(wait(0)>0);
  } else {
    int e=epoll_create1(EPOLL_CLOEXEC);char b[8];int left=n;
    for(int k=0;k<2;k++){struct epoll_event x={.events=EPOLLIN,.data.fd=s[k][0]};epoll_ctl(e,EPOLL_CTL_ADD,s[k][0],&x);send(s[k][0],b,8,0);}
    while(left>0){struct epoll_event x[2];int m;
      if(ep)m=epoll_wait(e,x,2,-1);
      else{struct pollfd q[2]={{s[0][0],POLLIN},{s[1][0],POLLIN}};poll(q,2,-1);m=0;for(int k=0;k<2;k++)if(q[k].revents)x[m++].data.fd=q[k].fd;}
      for(int i=0;i<m;i++){recv(x[i].data.fd,b,8,0);spin(w);left--;send(x[i].data.fd,b,8,0);}}
  }
  double t=now()-a;printf("%-8s work %d: %.1f us/step\n",v[3],w,t*1e6/n);
}
